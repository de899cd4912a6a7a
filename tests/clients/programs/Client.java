// SPDX-License-Identifier: Apache-2.0
// java Client.java URL COUNT: the JDK's HttpClient, which reads no variable and is told of the proxy.
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.stream.IntStream;

public class Client {
  static HttpClient told(URI proxy) {
    return HttpClient.newBuilder()
        .proxy(ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort())))
        .build();
  }

  public static void main(String[] arguments) {
    String proxy = System.getenv("http_proxy");
    HttpClient client = proxy == null ? HttpClient.newHttpClient() : told(URI.create(proxy));
    IntStream.rangeClosed(1, Integer.parseInt(arguments[1]))
        .mapToObj(number -> HttpRequest.newBuilder(URI.create(arguments[0] + number)).build())
        .map(request -> client.sendAsync(request, BodyHandlers.ofString()))
        .toList()
        .forEach(answer -> System.out.print(answer.join().body()));
  }
}
