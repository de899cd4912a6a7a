// SPDX-License-Identifier: Apache-2.0
// See probes.h. Each probe asks as plainly as a program in that language would that knows only its environment.
#include "app/probes.h"

namespace penstock::app {

namespace {

std::vector<std::string> python(const std::string& program) { return {"python3", "-c", program}; }

/// For programs that differ in one module: prints its version, and the answer.
Probe python_probe(const std::string& module, const std::string& program, const std::string& about_proxy,
                   const std::string& about_trust) {
  return {.name = "python " + module + " %",
          .version = python("import " + module + "; print(" + module + ".__version__)"),
          .command = python("import sys, " + module + "\n" + program),
          .about_proxy = about_proxy,
          .about_trust = about_trust};
}

constexpr const char* kHttpx = "print(httpx.get(sys.argv[1], timeout=9).text)";
constexpr const char* kRequests = "print(requests.get(sys.argv[1], timeout=9).text)";
constexpr const char* kHttplib2 = "print(httplib2.Http(timeout=9).request(sys.argv[1])[1].decode())";
constexpr const char* kBoto3 = R"(from botocore.config import Config
s3 = boto3.client("s3", "us-east-1", endpoint_url=sys.argv[1], aws_access_key_id="doctor", aws_secret_access_key="doctor",
                  config=Config(connect_timeout=9, read_timeout=9, retries={"max_attempts": 0}))
print([bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]))";
constexpr const char* kUrllib =
    "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=9).read().decode())";
constexpr const char* kAiohttp = R"(import asyncio
async def main():
    async with aiohttp.ClientSession(trust_env=True) as session:
        async with session.get(sys.argv[1]) as answer:
            print(await answer.text())
asyncio.run(main()))";

/// As the proxy agents of Node's packages do it.
constexpr const char* kNodeAgent = R"(
import http from 'node:http';
import https from 'node:https';
const proxy = new URL(process.env.https_proxy), there = new URL(process.argv[1]);
const fail = (error) => { console.error(error.code ?? '', error.message); process.exit(1); };
http.request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: there.host })
  .on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) fail(new Error(`the proxy answers ${answer.statusCode}`));
    https.get(there, { socket, servername: there.hostname, agent: false }, (page) => page.pipe(process.stdout))
      .on('error', fail);
  }).on('error', fail).end();
)";

constexpr const char* kNodeFetch = R"(
const [major, minor] = process.versions.node.split('.').map(Number);
if (!(major > 24 || major === 24 || (major === 22 && minor >= 21))) {
  console.error('it obeys no variable before 22.21 and 24.0: give it the EnvHttpProxyAgent of the package undici');
  process.exit(77);
}
fetch(process.argv[1]).then((answer) => answer.text()).then(console.log,
  (error) => { console.error(error.cause?.code ?? '', error.cause?.message ?? error.message); process.exit(1); });
)";

constexpr const char* kPerl =
    "my $answer = LWP::UserAgent->new(env_proxy => 1, timeout => 9)->get($ARGV[0]);"
    "$answer->is_success or die $answer->status_line, \"\\n\"; print $answer->decoded_content;";

constexpr const char* kPhp =
    "$curl = curl_init($argv[1]); if (!curl_exec($curl)) { fwrite(STDERR, curl_error($curl)); exit(1); }";

/// Fetches a file by apt itself. As root apt does that as the user _apt, which must have access to the folder.
constexpr const char* kApt =
    "set -e; folder=$(mktemp -d); trap 'rm -rf \"$folder\"' EXIT; chmod 777 \"$folder\"; "
    "/usr/lib/apt/apt-helper download-file \"$0\" \"$folder/page\" >&2; cat \"$folder/page\"";

std::vector<Probe> tools() {
  return {
      {.name = "curl %",
       .version = {"curl", "--version"},
       .command = {"curl", "--silent", "--show-error", "--fail", "--max-time", "9"},
       .about_proxy = "it reads https_proxy, unless ~/.curlrc or --noproxy say otherwise",
       .about_trust = "it reads CURL_CA_BUNDLE, unless ~/.curlrc says otherwise; or: curl --cacert $CURL_CA_BUNDLE"},
      {.name = "wget %",
       .version = {"wget", "--version"},
       .command = {"wget", "--no-verbose", "--tries=1", "--timeout=9", "--output-document=-"},
       .about_proxy = "it reads https_proxy, unless `use_proxy` in its file says otherwise",
       .about_trust = "it reads the file that WGETRC names; or: wget --ca-certificate=$SSL_CERT_FILE"},
      {.name = "git %",
       .version = {"git", "--version"},
       .command = {"git", "ls-remote"},
       .about_proxy = "it reads https_proxy, unless `git config http.proxy` says otherwise",
       .about_trust = "it reads GIT_SSL_CAINFO",
       .says_nothing = true},
      {.name = "rclone % for S3",
       .version = {"rclone", "version"},
       .command = {"rclone", "lsd", ":s3:", "--config=", "--retries=1", "--low-level-retries=1", "--contimeout=9s",
                   "--timeout=9s", "--s3-provider=Other", "--s3-access-key-id=doctor", "--s3-secret-access-key=doctor",
                   "--s3-endpoint"},
       .about_proxy = "it reads https_proxy; where AWS_CA_BUNDLE is set, older ones ask nobody",
       .about_trust = "it reads SSL_CERT_FILE, unless --ca-cert says otherwise"},
      {.name = "apt %",
       .version = {"apt-get", "--version"},
       .command = {"sh", "-c", kApt},
       .about_proxy = "it reads https_proxy, unless Acquire::https::Proxy says otherwise",
       .about_trust =
           "it reads the file that APT_CONFIG names, unless Acquire::https::CAInfo in /etc/apt says otherwise"},
  };
}

std::vector<Probe> pythons() {
  return {
      {.name = "python % urllib",
       .version = {"python3", "--version"},
       .command = python(kUrllib),
       .about_proxy = "it reads https_proxy",
       .about_trust = "it reads SSL_CERT_FILE"},
      python_probe("requests", kRequests, "it reads https_proxy, unless trust_env is False",
                   "it reads REQUESTS_CA_BUNDLE, unless trust_env is False"),
      python_probe("httpx", kHttpx, "it reads https_proxy, unless trust_env is False or it has a transport of its own",
                   "it reads SSL_CERT_FILE, unless it is given verify="),
      python_probe("httplib2", kHttplib2, "it reads https_proxy, unless it is given proxy_info=",
                   "it reads HTTPLIB2_CA_CERTS, unless it is given ca_certs="),
      python_probe("boto3", kBoto3, "it reads https_proxy, unless it is given proxies=",
                   "it reads AWS_CA_BUNDLE, ca_bundle in ~/.aws/config, or else REQUESTS_CA_BUNDLE"),
      python_probe("aiohttp", kAiohttp, "it reads https_proxy with trust_env=True only", "it reads SSL_CERT_FILE"),
  };
}

std::vector<Probe> nodes() {
  return {
      {.name = "node % with an agent",
       .version = {"node", "--version"},
       .command = {"node", "--input-type=module", "--eval", kNodeAgent},
       .about_proxy = "its agent must be one that reads https_proxy",
       .about_trust = "it reads NODE_EXTRA_CA_CERTS when it starts"},
      {.name = "node % fetch",
       .version = {"node", "--version"},
       .command = {"node", "--input-type=module", "--eval", kNodeFetch},
       .about_proxy = "it reads https_proxy with NODE_USE_ENV_PROXY=1 only",
       .about_trust = "it reads NODE_EXTRA_CA_CERTS when it starts"},
  };
}

std::vector<Probe> others(const std::string& java_file) {
  return {
      {.name = "java % of a JDK",
       .version = {"javac", "-version"},
       .command = {"java", java_file},
       .about_proxy = "it reads JAVA_TOOL_OPTIONS, with https.proxyHost and https.proxyPort",
       .about_trust = "it reads JAVA_TOOL_OPTIONS, with javax.net.ssl.trustStore; a store of your own needs the "
                      "authority: keytool -importcert"},
      {.name = "ruby %",
       .version = {"ruby", "--version"},
       .command = {"ruby", "-rnet/http", "-e", "print Net::HTTP.get(URI(ARGV[0]))"},
       .about_proxy = "it reads http_proxy, for https too",
       .about_trust = "it reads SSL_CERT_FILE"},
      {.name = "php % curl",
       .version = {"php", "-r", "echo PHP_VERSION; exit(function_exists('curl_init') ? 0 : 1);"},
       .command = {"php", "-r", kPhp},
       .about_proxy = "it reads https_proxy",
       .about_trust = "it reads the folders that PHP_INI_SCAN_DIR names; or: php -d curl.cainfo=$SSL_CERT_FILE"},
      {.name = "perl LWP %",
       .version = {"perl", "-MLWP::UserAgent", "-MLWP::Protocol::https", "-e", "print LWP::UserAgent->VERSION"},
       .command = {"perl", "-MLWP::UserAgent", "-e", kPerl},
       .about_proxy = "it reads https_proxy with env_proxy => 1 only",
       .about_trust = "it reads PERL_LWP_SSL_CA_FILE"},
  };
}

}  // namespace

const char* const kJavaProbe = R"(import java.io.InputStream;
import java.net.URL;

public class Probe {
  public static void main(String[] arguments) throws Exception {
    try (InputStream answer = new URL(arguments[0]).openStream()) {
      answer.transferTo(System.out);
    }
  }
}
)";

std::vector<Probe> all_probes(const std::string& java_file) {
  auto all = tools();
  for (auto& some : {pythons(), nodes(), others(java_file)}) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace penstock::app
