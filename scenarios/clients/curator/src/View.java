import java.util.Map;

/** A cache of the subtree `/cache`: what it shows, and what its events, one after the other, have told. */
interface View {
    void start() throws Exception;

    /** The data of each znode by its path. */
    Map<String, String> shown();

    /** The same, built of nothing but the events. */
    Map<String, String> told();

    void close() throws Exception;
}
