// java.net.http.HttpClient, as it comes.

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

final class JavaHttpClient {
    private JavaHttpClient() {}

    public static void main(String[] args) throws Exception {
        Kit.run(limits -> {
            HttpClient.Builder builder = HttpClient.newBuilder();
            if (limits.connectMs() != null) builder.connectTimeout(Duration.ofMillis(limits.connectMs()));
            HttpClient client = builder.build();
            return call -> {
                HttpRequest request = request(call, limits);
                if (call.streams) {
                    HttpResponse<InputStream> answer = client.send(request, BodyHandlers.ofInputStream());
                    return new Kit.Answer(answer.statusCode(), answer.body());
                }
                HttpResponse<byte[]> answer = client.send(request, BodyHandlers.ofByteArray());
                return new Kit.Answer(answer.statusCode(), new ByteArrayInputStream(answer.body()));
            };
        });
    }

    private static HttpRequest request(Kit.Call call, Kit.Limits limits) throws Exception {
        byte[] content = call.content();
        BodyPublisher publisher;
        if (content == null) {
            publisher = BodyPublishers.noBody();
        } else if (call.streamsBody) {
            // What can be read once only.
            InputStream once = new ByteArrayInputStream(content);
            publisher = BodyPublishers.ofInputStream(() -> once);
        } else {
            publisher = BodyPublishers.ofByteArray(content);
        }
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(call.url)).method(call.method, publisher);
        for (String[] field : call.headers()) {
            // Java takes this one from another place.
            if (field[0].equalsIgnoreCase("Expect")) {
                request.expectContinue(field[1].equalsIgnoreCase("100-continue"));
            } else {
                request.header(field[0], field[1]);
            }
        }
        if (limits.totalMs() != null) request.timeout(Duration.ofMillis(limits.totalMs()));
        return request.build();
    }
}
