// The best interval between saves of a training whose devices fail. Failures are exponential:
// nothing ages, so that the time to the next failure does not depend on what was before. Times are
// seconds.
//
//   Young, "A First Order Approximation to the Optimum Checkpoint Interval", CACM 1974:
//     sqrt(2 C M)
//   Daly, "A Higher Order Estimate of the Optimum Checkpoint Interval", FGCS 2006:
//     sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C where C < 2M, else M
//   exact: a piece of tau useful seconds and its save take M e^((R + F)/M) (e^((tau + C)/M) - 1)
//     in the mean. A failure during a restart begins it anew. F is how long after a save it can be
//     read: a failure before that goes back to the save before it. Derived in the source.
#pragma once

namespace trainyard {

struct SavedTraining {
  double mtbf = 0;     // M: mean seconds between failures of the job, > 0; infinite = none
  double save = 0;     // C: seconds that training stands still for a save, >= 0
  double restart = 0;  // R: seconds from a failure until training goes on, >= 0
  double flush = 0;    // F: seconds after a save until it can be read, <= interval + save
  /// A failure loses no work (partial recovery of shards), only the restart.
  bool keeps_work = false;
};

/// Both are infinite where nothing fails.
double young_interval(const SavedTraining&);
double daly_interval(const SavedTraining&);
/// The interval at which overhead() is least, by bisection of its derivative: where
/// 1 - tau/M = e^(-(tau + C)/M). Infinite where nothing fails, 0 where saves cost nothing. Not for
/// training that keeps its work, which loses least without any save.
double best_interval(const SavedTraining&);

/// Mean seconds beyond a useful one at this interval of useful seconds between saves: wall time
/// over useful time, minus 1. interval > 0; infinite = no saves, which without failures costs 0 and
/// with failures never ends (infinite).
double overhead(const SavedTraining&, double interval);

/// The seconds that a useful one takes beside itself, in the mean; the three add up to overhead().
struct LostTime {
  double saving = 0;      // standing still for saves that are kept
  double repeating = 0;   // work and saves that a failure takes back
  double restarting = 0;  // from failures until training goes on
  double sum() const { return saving + repeating + restarting; }
};
LostTime lost_time(const SavedTraining&, double interval);

/// Expected portion of lost samples of partial recovery (Maeng et al., "CPR: Understanding and
/// Improving Failure Tolerant Training for Deep Learning Recommendation with Partial Recovery",
/// MLSys 2021): interval / (2 M N), where each failure takes one of N shards back to its last save.
double portion_of_lost_samples(double interval, double mtbf, double shards);
/// The interval that has this portion: 2 PLS N M.
double interval_of_lost_samples(double portion, double mtbf, double shards);

}  // namespace trainyard
