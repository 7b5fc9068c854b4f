import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What one recipe did in a run: counters, and the promises that it broke. */
final class Tally {
    private final String recipe;
    private final Map<String, Integer> counts = new TreeMap<>();
    private final List<String> broken = new ArrayList<>();

    Tally(String recipe) {
        this.recipe = recipe;
    }

    synchronized void count(String what) {
        counts.merge(what, 1, Integer::sum);
    }

    synchronized int counted(String what) {
        return counts.getOrDefault(what, 0);
    }

    /** Notes that a promise does not hold; `evidence` goes to the journal too. */
    synchronized void broken(String promise, String evidence) {
        Journal.note("BROKEN " + recipe + ": " + promise + ": " + evidence);
        counts.merge("broken: " + promise, 1, Integer::sum);
        if (broken.size() < 5) {
            broken.add(promise + ": " + evidence);
        }
    }

    synchronized boolean isBroken() {
        return !broken.isEmpty();
    }

    synchronized String json() {
        StringBuilder text = new StringBuilder("{");
        counts.forEach((name, count) -> text.append(Tallies.quoted(name)).append(": ").append(count).append(", "));
        text.append("\"evidence\": [");
        for (int at = 0; at < broken.size(); at++) {
            text.append(at == 0 ? "" : ", ").append(Tallies.quoted(broken.get(at)));
        }
        return text.append("]}").toString();
    }
}
