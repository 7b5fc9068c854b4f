import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/** What happened, one line each, with the time since the start of the run in milliseconds. */
final class Journal {
    private static final long START = System.nanoTime();
    private static PrintWriter writer;

    private Journal() {}

    static synchronized void open(Path file) throws IOException {
        writer = new PrintWriter(Files.newBufferedWriter(file), true);
    }

    static double now() {
        return (System.nanoTime() - START) / 1e6;
    }

    static synchronized void note(String what) {
        if (writer != null) {
            writer.printf("%10.3f  %-24s %s%n", now(), Thread.currentThread().getName(), what);
        }
    }
}
