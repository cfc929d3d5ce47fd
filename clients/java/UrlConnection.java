// java.net.HttpURLConnection, as it comes.

import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.ProtocolException;
import java.net.Proxy;
import java.net.URI;

final class UrlConnection {
    private UrlConnection() {}

    public static void main(String[] args) throws Exception {
        Kit.run(limits -> call -> {
            HttpURLConnection connection =
                (HttpURLConnection) URI.create(call.url).toURL().openConnection(Proxy.NO_PROXY);
            try {
                connection.setRequestMethod(call.method);
            } catch (ProtocolException error) {
                // PATCH and CONNECT are not among its methods.
                throw new Kit.Unsupported("HttpURLConnection refuses " + call.method + ": " + error.getMessage());
            }
            if (limits.connectMs() != null) connection.setConnectTimeout(limits.connectMs().intValue());
            if (limits.idleMs() != null) connection.setReadTimeout(limits.idleMs().intValue());
            for (String[] field : call.headers()) connection.addRequestProperty(field[0], field[1]);
            byte[] content = call.content();
            if (content != null) {
                connection.setDoOutput(true);
                // Content that is not kept, so that it can be sent once only.
                if (call.streamsBody) connection.setChunkedStreamingMode(0);
                try (OutputStream body = connection.getOutputStream()) {
                    body.write(content);
                }
            }
            int status = connection.getResponseCode();
            InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream();
            return new Kit.Answer(status, body == null ? InputStream.nullInputStream() : body);
        });
    }
}
