// SPDX-License-Identifier: Apache-2.0
// java Pooled.java URL COUNT: Apache's HttpClient, six threads on one pool of connections, by the JVM's properties.
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.impl.client.BasicResponseHandler;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;

public class Pooled {
  public static void main(String[] arguments) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try (CloseableHttpClient client =
        HttpClients.custom().useSystemProperties().setMaxConnPerRoute(6).disableAutomaticRetries().build()) {
      var answers = threads.invokeAll(
          IntStream.rangeClosed(1, Integer.parseInt(arguments[1]))
              .<Callable<String>>mapToObj(number -> () ->
                  client.execute(new HttpGet(arguments[0] + number), new BasicResponseHandler()))
              .toList());
      for (Future<String> answer : answers) {
        System.out.print(answer.get());
      }
    } finally {
      threads.shutdown();
    }
  }
}
