// Apache HttpClient 5 (the classic one), as it comes.

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClientBuilder;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.routing.RoutingSupport;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.HttpEntity;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.InputStreamEntity;

final class ApacheHttpClient5 {
    private ApacheHttpClient5() {}

    public static void main(String[] args) throws Exception {
        Kit.run(limits -> {
            CloseableHttpClient client = clientWith(limits);
            return call -> {
                HttpUriRequestBase request = new HttpUriRequestBase(call.method, URI.create(call.url));
                for (String[] field : call.headers()) request.addHeader(field[0], field[1]);
                byte[] content = call.content();
                if (content != null) request.setEntity(entity(content, call.streamsBody));
                call.onCancel(request::cancel);
                ClassicHttpResponse answer = client.executeOpen(RoutingSupport.determineHost(request), request, null);
                HttpEntity body = answer.getEntity();
                if (body != null) return new Kit.Answer(answer.getCode(), body.getContent());
                answer.close();
                return new Kit.Answer(answer.getCode(), InputStream.nullInputStream());
            };
        });
    }

    private static HttpEntity entity(byte[] content, boolean once) {
        if (once) return new InputStreamEntity(new ByteArrayInputStream(content), null);
        return new ByteArrayEntity(content, null);
    }

    private static CloseableHttpClient clientWith(Kit.Limits limits) {
        HttpClientBuilder builder = HttpClients.custom();
        if (limits.connectMs() != null || limits.idleMs() != null) {
            ConnectionConfig.Builder config = ConnectionConfig.custom();
            if (limits.connectMs() != null) config.setConnectTimeout(limits.connectMs(), TimeUnit.MILLISECONDS);
            if (limits.idleMs() != null) config.setSocketTimeout(limits.idleMs().intValue(), TimeUnit.MILLISECONDS);
            builder.setConnectionManager(
                PoolingHttpClientConnectionManagerBuilder.create().setDefaultConnectionConfig(config.build()).build());
        }
        if (limits.redirects() != null) {
            builder.setDefaultRequestConfig(
                RequestConfig.custom().setMaxRedirects(limits.redirects().intValue()).build());
        }
        return builder.build();
    }
}
