// `retry URL` waits as long as Retry-After says; `poll URL` asks every 15 s, for
// five minutes; `limit URL` gives a call four minutes.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

public class Client {
    public static void main(String[] args) throws Exception {
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create(args[1])).build();
        var whole = HttpResponse.BodyHandlers.ofString();
        if (args[0].equals("retry")) {
            var refused = client.send(request, whole);
            Thread.sleep(1000 * Long.parseLong(refused.headers().firstValue("Retry-After").get()));
            client.send(request, whole);
        } else if (args[0].equals("limit")) {
            try {
                client.sendAsync(request, whole).get(240, TimeUnit.SECONDS);
            } catch (TimeoutException over) {
                // As it should.
            }
        } else {
            for (int asked = 0; asked < 20; asked++) {
                client.send(request, whole);
                Thread.sleep(15000);
            }
        }
        System.exit(0);
    }
}
