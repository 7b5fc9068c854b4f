import java.util.Map;
import java.util.TreeMap;

/** The tallies of all recipes of a run. */
final class Tallies {
    private final Map<String, Tally> byRecipe = new TreeMap<>();

    synchronized Tally of(String recipe) {
        return byRecipe.computeIfAbsent(recipe, Tally::new);
    }

    synchronized boolean anyBroken() {
        return byRecipe.values().stream().anyMatch(Tally::isBroken);
    }

    synchronized String json() {
        StringBuilder text = new StringBuilder("{");
        byRecipe.forEach((recipe, tally) ->
                text.append(text.length() == 1 ? "" : ", ").append(quoted(recipe)).append(": ").append(tally.json()));
        return text.append("}").toString();
    }

    static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + "\"";
    }
}
