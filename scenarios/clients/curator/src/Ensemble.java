import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The modelled servers: a process of `vivarium serve`, its commands, and its views. */
final class Ensemble implements AutoCloseable {
    private static final int SERVERS = 3;
    private static final Pattern TRANSACTION =
            Pattern.compile("\\{\"session\":\"(0x[0-9a-f]+)\",\"synced\":\\w+,\"transaction\":\"([^\"]*)\",\"zxid\":\"(\\d+):(\\d+)\"\\}");

    /** One line of a server's log. */
    static final class Transaction {
        final long session;
        final String what;
        final long zxid;

        Transaction(long session, String what, long zxid) {
            this.session = session;
            this.what = what;
            this.zxid = zxid;
        }
    }

    final String hosts;
    private final Process process;
    private final int http;
    private volatile boolean observes = true;

    Ensemble(Options options) throws IOException, InterruptedException {
        http = options.port + 9;
        StringBuilder addresses = new StringBuilder();
        for (int server = 0; server < SERVERS; server++) {
            addresses.append(server == 0 ? "" : ",").append("127.0.0.1:").append(options.port + server);
        }
        hosts = addresses.toString();
        List<String> line = new ArrayList<>(List.of(options.vivarium, "serve", "--servers", "" + SERVERS,
                "--port", "" + options.port, "--http", "" + http, "--tick", "200", "--seed", "" + options.seed));
        if (options.record != null) {
            line.addAll(List.of("--record", options.record));
        }
        for (String property : options.properties) {
            line.addAll(List.of("--property", property));
        }
        if (options.chaosOfServe) {
            line.addAll(List.of("--chaos", "" + options.seed));
        }
        Path output = options.folder.resolve("serve.log");
        process = new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        for (int attempt = 0; ; attempt++) {
            try {
                status();
                return;
            } catch (IOException notYet) {
                if (attempt > 100 || !process.isAlive()) {
                    throw new IOException("vivarium serve does not answer; see " + output, notYet);
                }
                Thread.sleep(50);
            }
        }
    }

    String status() throws IOException {
        return request("/status", null);
    }

    /** Carries out a command; an answer that begins with "error" is returned and not thrown. */
    String command(String command) throws IOException {
        return request("/command", command);
    }

    /** Tells the ensemble an observation, and returns once it has been judged. */
    void observe(String json) throws IOException {
        if (!observes) {
            return;
        }
        String answer = request("/observe", json);
        if (answer.startsWith("error 404")) {
            observes = false; // A binary without `/observe`: only our own checker judges.
        } else if (answer.startsWith("error")) {
            System.err.println("observation refused: " + json + " -> " + answer);
        }
    }

    boolean observes() {
        return observes;
    }

    /** Returns the log of the server that has the longest one. */
    List<Transaction> log() throws IOException {
        List<Transaction> longest = new ArrayList<>();
        for (int server = 1; server <= SERVERS; server++) {
            Matcher matcher = TRANSACTION.matcher(request("/servers/" + server + "/log", null));
            List<Transaction> log = new ArrayList<>();
            while (matcher.find()) {
                long zxid = Long.parseLong(matcher.group(3)) << 32 | Long.parseLong(matcher.group(4));
                log.add(new Transaction(Long.parseUnsignedLong(matcher.group(1).substring(2), 16), matcher.group(2), zxid));
            }
            if (log.size() > longest.size()) {
                longest = log;
            }
        }
        return longest;
    }

    /** True if any server has logged the end of the session. */
    boolean isOver(long session) throws IOException {
        for (Transaction transaction : log()) {
            if (transaction.session == session && transaction.what.startsWith("closeSession")) {
                return true;
            }
        }
        return false;
    }

    /** Ends all faults, and starts all servers that are down. */
    void heal() throws IOException {
        if (!command("recover").startsWith("error")) {
            return;
        }
        command("heal"); // A binary without `recover`.
        for (int server = 1; server <= SERVERS; server++) {
            command("slow-disk " + server + " 0ms");
            command("restart " + server);
        }
    }

    String violation() throws IOException {
        Matcher matcher = Pattern.compile("\"violation\":(null|\"(?:[^\"\\\\]|\\\\.)*\"|\\{.*?\\})").matcher(status());
        return !matcher.find() || matcher.group(1).equals("null") ? null : matcher.group(1);
    }

    private String request(String path, String body) throws IOException {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create("http://127.0.0.1:" + http + path).toURL().openConnection();
        connection.setConnectTimeout(5_000);
        connection.setReadTimeout(10_000);
        if (body != null) {
            connection.setDoOutput(true);
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", body.startsWith("{") ? "application/json" : "text/plain");
            connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
        }
        int code = connection.getResponseCode();
        try (InputStream input = code < 400 ? connection.getInputStream() : connection.getErrorStream()) {
            String text = input == null ? "" : new String(input.readAllBytes(), StandardCharsets.UTF_8);
            return code < 400 ? text : "error " + code + ": " + text;
        }
    }

    /** Ends the process. Its exit code is 1 if a property was violated. */
    int stop() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        return process.waitFor();
    }

    @Override
    public void close() throws InterruptedException {
        stop();
    }
}
