// OkHttp, as it comes.

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.Proxy;
import java.time.Duration;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.BufferedSink;
import okio.Okio;

final class OkHttp {
    private OkHttp() {}

    public static void main(String[] args) throws Exception {
        Kit.run(limits -> {
            // A server that the work names is never to be reached through a proxy.
            OkHttpClient.Builder builder = new OkHttpClient.Builder().proxy(Proxy.NO_PROXY);
            if (limits.connectMs() != null) builder.connectTimeout(Duration.ofMillis(limits.connectMs()));
            if (limits.idleMs() != null) {
                builder.readTimeout(Duration.ofMillis(limits.idleMs()));
                builder.writeTimeout(Duration.ofMillis(limits.idleMs()));
            }
            if (limits.totalMs() != null) builder.callTimeout(Duration.ofMillis(limits.totalMs()));
            OkHttpClient client = builder.build();
            return given -> {
                okhttp3.Call call = client.newCall(request(given));
                given.onCancel(call::cancel);
                Response answer = call.execute();
                return new Kit.Answer(answer.code(), answer.body().byteStream());
            };
        });
    }

    private static Request request(Kit.Call call) throws Exception {
        Request.Builder request = new Request.Builder().url(call.url);
        for (String[] field : call.headers()) request.addHeader(field[0], field[1]);
        byte[] content = call.content();
        RequestBody body = null;
        if (content != null && call.streamsBody) {
            body = new Once(new ByteArrayInputStream(content));
        } else if (content != null) {
            body = RequestBody.create(content, null);
        } else if (call.method.equals("POST") || call.method.equals("PUT") || call.method.equals("PATCH")) {
            // These it does not make without a body.
            body = RequestBody.create(new byte[0], null);
        }
        try {
            return request.method(call.method, body).build();
        } catch (IllegalArgumentException error) {
            throw new Kit.Unsupported("OkHttp refuses " + call.method + ": " + error.getMessage());
        }
    }

    /** Content that can be read once only. */
    private static final class Once extends RequestBody {
        private final InputStream content;

        Once(InputStream content) {
            this.content = content;
        }

        @Override
        public MediaType contentType() {
            return null;
        }

        @Override
        public boolean isOneShot() {
            return true;
        }

        @Override
        public void writeTo(BufferedSink sink) throws java.io.IOException {
            sink.writeAll(Okio.source(content));
        }
    }
}
