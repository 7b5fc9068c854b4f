//! How a worker takes part in checkpoints, and goes on from one.

use super::super::super::model::Model;
use super::super::super::outcome::Bound;
use super::super::Options;
use super::super::checkpoint::{Checkpoint, Checkpoints, Header, Part};
use super::connect::Gone;
use super::lock;
use super::messages::Report;
use super::saved::{self, Waiting};
use super::worker::{Held, Worker};
use std::io;

impl<M: Model> Worker<'_, M> {
    /// Writes this worker's part of a checkpoint. When all are written, each takes the last one's place.
    pub(super) fn save(&mut self) -> Result<(), Gone> {
        let Some(Checkpoints { file, .. }) = &self.shared.options.checkpoints else {
            return Ok(());
        };
        let part = saved::file(file, self.wire.own);
        self.moment.0 += 1;
        let place = lock(&self.places[self.local]);
        let levels = place.levels.iter();
        let all = levels.flat_map(|(level, states)| states.iter().map(move |held| (held, *level)));
        let fresh = all.filter(|(held, level)| !self.is_stale(held, *level));
        let waiting: Vec<Waiting> = fresh
            .map(|(held, level)| Waiting { number: held.number, level, state: held.fingerprint })
            .collect();
        drop(place);
        let header = self.header();
        let table = lock(&self.wire.table);
        let of = &self.shared.options.of;
        let written = saved::write(&part, of, header, &table, &self.ways, &waiting);
        drop(table);
        let sentence = |error: io::Error| format!("`{}`: {error}", part.display());
        let unwritten = written.map_err(sentence).err();
        let reports = self.wire.report(Report { unwritten, ..Report::default() })?;
        let unwritten = reports.into_iter().find_map(|report| report.unwritten);
        let kept = match unwritten {
            None => saved::keep(&part).map_err(sentence),
            Some(sentence) => Err(sentence),
        };
        if self.local == 0 {
            self.shared.wrote(kept);
            self.shared.pause(false);
        }
        Ok(())
    }

    /// Returns the header of this worker's part. What a process counted is in the part of its first worker.
    fn header(&self) -> Header {
        let elapsed = self.shared.started.elapsed();
        let header = match self.local {
            0 => self.shared.header(elapsed),
            _ => Header::default(),
        };
        let (worker, workers) = (self.wire.own as u64, self.wire.workers as u64);
        let ways = self.ways.length() as u64;
        Header { part: Some(Part { worker, workers, moment: self.moment, ways }), ..header }
    }

    /// Goes on from the last checkpoint that all workers have a part of. Returns false if there is none of this
    /// search.
    pub(super) fn resume(&mut self) -> Result<bool, Gone> {
        let (own, workers) = (self.wire.own, self.wire.workers);
        let Options { of, resume_together, .. } = self.shared.options;
        let parts = resume_together
            .as_ref()
            .map(|file| saved::parts(&saved::file(file, own), of, own, workers))
            .unwrap_or_default();
        let moment = |part: &Checkpoint| part.header().part.map(|part| part.moment);
        let ours = parts.iter().filter(|part| part.of() == of);
        let (moments, has_part) = (ours.filter_map(moment).collect(), !parts.is_empty());
        let reports = self.wire.report(Report { moments, has_part, ..Report::default() })?;
        let in_all = |moment: &(u64, u64)| reports.iter().all(|one| one.moments.contains(moment));
        let last = reports.iter().flat_map(|one| &one.moments).copied().filter(in_all).max();
        let Some(last) = last else {
            let sentence = match resume_together {
                Some(_) if !reports.iter().any(|one| one.has_part) => {
                    "no process has a part of it that fits this search, its processes and its threads"
                }
                _ if reports.iter().any(|one| !one.moments.is_empty()) => {
                    "its parts are not of one moment, or some are missing"
                }
                _ => "",
            };
            if !sentence.is_empty() {
                self.shared.halt(Bound::Checkpoint(sentence.to_string()));
            }
            // A number that no other run of the same search has, so that their parts are never taken together.
            self.moment = (0, self.of_first(self.shared.number())?);
            return Ok(false);
        };
        self.moment = (last.0, self.of_first(self.shared.number())?);
        let part = parts.iter().find(|part| part.of() == of && moment(part) == Some(last));
        let part = part.expect("all workers have it");
        if let Err(sentence) = self.restore(part) {
            self.shared.halt(Bound::Checkpoint(sentence));
        }
        Ok(true)
    }

    /// Returns the number that the first worker chose.
    fn of_first(&self, number: u64) -> Result<u64, Gone> {
        let moments = vec![(0, number)];
        let reports = self.wire.report(Report { moments, ..Report::default() })?;
        Ok(reports[0].moments[0].1)
    }

    /// Takes over a part, and makes its waiting states anew.
    fn restore(&mut self, part: &Checkpoint) -> Result<(), String> {
        let (table, ways, waiting) = saved::read(part).map_err(|error| error.to_string())?;
        *lock(&self.wire.table) = table;
        self.ways = ways;
        if self.local == 0 {
            self.shared.resume(part.header());
        }
        let mut taken = Vec::with_capacity(waiting.len());
        saved::anew(self.shared.model, &self.ways, &waiting, |state, one| {
            let (fingerprint, number) = (one.state, one.number);
            taken.push((one.level, Held { state, fingerprint, number }));
        })?;
        self.counts.frontier += taken.len() as i64;
        for (level, held) in taken {
            self.wait(level, held);
        }
        Ok(())
    }
}
