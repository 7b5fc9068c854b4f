import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** The settings of a run. */
final class Options {
    String vivarium = "vivarium";
    int port = 24000;
    long seed = 1;
    int clients = 3;
    long workMillis = 8_000;
    long quietMillis = 8_000;
    int sessionMillis = 2_000;
    Path folder = Path.of("run");
    String record;
    /** Whether `vivarium serve --chaos` draws the faults; otherwise `Faults` does. */
    boolean chaosOfServe;
    boolean sessionFaults = true;
    /** Whether a belief ends at SUSPENDED already; leaders always end theirs there, as Curator's documentation says. */
    boolean endsAtSuspended;
    /** Whether writers become readers; before 5.5.0 that breaks the lock (CURATOR-621). */
    boolean downgrades = true;
    /** The recipes to run; empty for all. */
    Set<String> only = Set.of();
    final List<String> properties = new ArrayList<>();

    static Options of(String[] arguments) throws IOException {
        Options options = new Options();
        for (int at = 0; at < arguments.length; at++) {
            switch (arguments[at]) {
                case "--vivarium": options.vivarium = arguments[++at]; break;
                case "--port": options.port = Integer.parseInt(arguments[++at]); break;
                case "--seed": options.seed = Long.parseLong(arguments[++at]); break;
                case "--work": options.workMillis = Long.parseLong(arguments[++at]); break;
                case "--quiet": options.quietMillis = Long.parseLong(arguments[++at]); break;
                case "--session": options.sessionMillis = Integer.parseInt(arguments[++at]); break;
                case "--folder": options.folder = Path.of(arguments[++at]); break;
                case "--record": options.record = arguments[++at]; break;
                case "--chaos": options.chaosOfServe = true; break;
                case "--no-session-faults": options.sessionFaults = false; break;
                case "--no-downgrade": options.downgrades = false; break;
                case "--ends-at-suspended": options.endsAtSuspended = true; break;
                case "--only": options.only = Set.of(arguments[++at].split(",")); break;
                case "--property": options.properties.add(arguments[++at]); break;
                default: throw new IllegalArgumentException("unknown option " + arguments[at]);
            }
        }
        Files.createDirectories(options.folder);
        return options;
    }
}
