//! Writes pictures of made-up runs into a folder, as pages and as the files of the two exports. The browser test opens
//! the pages.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::path::Path;
use vivarium_reports::picture::{Picture, page::page, perfetto::trace_events, shiviz::shiviz};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".into());
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let pictures = [
        ("small", synthetic::picture(42, 80, 3, 2)),
        ("large", synthetic::picture(42, 10_000, 5, 5)),
        ("explored", synthetic::explored(7, 300, 3, 3)),
        ("empty", Picture { title: "a run without a step".into(), ..Picture::default() }),
    ];
    for (name, picture) in pictures {
        std::fs::write(folder.join(format!("{name}.html")), page(&picture))?;
        std::fs::write(folder.join(format!("{name}.trace.json")), trace_events(&picture))?;
        std::fs::write(folder.join(format!("{name}.shiviz.txt")), shiviz(&picture))?;
    }
    Ok(())
}
