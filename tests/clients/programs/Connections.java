// SPDX-License-Identifier: Apache-2.0
// java Connections.java URL COUNT: the JDK's HttpURLConnection, by the JVM's properties.
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Connections {
  static String fetch(String url) throws IOException {
    try (InputStream answer = new URL(url).openStream()) {
      return new String(answer.readAllBytes());
    }
  }

  public static void main(String[] arguments) throws Exception {
    var threads = Executors.newCachedThreadPool();
    var answers = new ArrayList<Future<String>>();
    for (int number = 1; number <= Integer.parseInt(arguments[1]); ++number) {
      String url = arguments[0] + number;
      answers.add(threads.submit(() -> fetch(url)));
    }
    threads.shutdown();
    for (var answer : answers) System.out.print(answer.get());
  }
}
