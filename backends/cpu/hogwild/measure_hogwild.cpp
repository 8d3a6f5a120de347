#include "backends/cpu/hogwild/measure_hogwild.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "backends/cpu/hogwild/hogwild.h"
#include "core/base/error.h"
#include "core/base/median.h"

namespace trainyard {
namespace {

// A dense sample has many times the features of a sparse one: fewer of them take as long.
constexpr std::int64_t kDenseIsFewer = 10;

std::vector<int> thread_counts(int most) {
  std::set<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.insert(threads);
  counts.insert(most);
  return {counts.begin(), counts.end()};
}

std::vector<HogwildRow> rows_to_measure(const HogwildQuestion& q) {
  std::vector<HogwildRow> rows;
  for (const bool dense : {false, true})
    for (const Sharing how : {Sharing::Alone, Sharing::Locked, Sharing::Hogwild})
      for (const int threads : thread_counts(q.threads)) {
        if (how == Sharing::Alone && threads > 1) continue;
        HogwildRow& row = rows.emplace_back();
        row.dense = dense, row.how = how, row.threads = threads;
      }
  return rows;
}

SharedTraining training_of(const HogwildQuestion& q, const HogwildRow& row) {
  SharedTraining made;
  made.how = row.how, made.threads = row.threads;
  made.epochs = q.epochs, made.rate = static_cast<float>(q.rate), made.seed = q.seed;
  made.stop = q.stop;
  return made;
}

void go_on(const HogwildQuestion& q, std::size_t done, std::size_t all) {
  if (q.stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped");
  if (q.progress) q.progress(static_cast<double>(done) / static_cast<double>(all));
}

}  // namespace

HogwildStudy measure_hogwild(const HogwildQuestion& q) {
  if (q.nonzeros > q.features)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at most {} features in a sample, as many as there are, found "
                            "{}",
                            q.features, q.nonzeros));
  HogwildStudy study;
  study.question = q;
  study.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const SparseSamples sparse = logistic_samples(q.samples, q.features, q.nonzeros, q.seed),
                      dense = logistic_samples(std::max<std::int64_t>(2, q.samples / kDenseIsFewer),
                                               q.dense, q.dense, q.seed);
  study.sparse = shared_support(sparse, q.seed), study.dense = shared_support(dense, q.seed);
  study.rows = rows_to_measure(q);
  const std::size_t all = static_cast<std::size_t>(q.rounds) * study.rows.size() + 1;
  std::vector<std::vector<Duration>> times(study.rows.size());
  std::vector<std::int64_t> updates(study.rows.size());
  std::vector<float> weights;
  for (int round = 0; round < q.rounds; ++round)
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
      go_on(q, static_cast<std::size_t>(round) * study.rows.size() + i, all);
      HogwildRow& row = study.rows[i];
      const SparseSamples& samples = row.dense ? dense : sparse;
      weights.assign(static_cast<std::size_t>(samples.width), 0);
      const SharedRun run = train_shared(samples, weights, training_of(q, row));
      times[i].push_back(run.time);
      updates[i] = run.updates;
      row.loss = std::max(row.loss, logistic_loss(samples, weights));
    }
  for (std::size_t i = 0; i < study.rows.size(); ++i) {
    HogwildRow& row = study.rows[i];
    row.updates_per_second =
        static_cast<double>(updates[i]) / std::max(1e-9, to_seconds(median(times[i])));
    const HogwildRow& alone = row_of(study, row.dense, Sharing::Alone);
    row.gain = row.updates_per_second / alone.updates_per_second;
    row.loss_ratio = row.loss / alone.loss;
  }
  go_on(q, all - 1, all);
  SharedTraining counting = training_of(q, study.rows.front());
  counting.how = Sharing::Hogwild, counting.threads = q.threads, counting.counts_staleness = true;
  weights.assign(static_cast<std::size_t>(sparse.width), 0);
  study.staleness = train_shared(sparse, weights, counting).staleness;
  double sum = 0, count = 0;
  for (std::size_t s = 0; s < study.staleness.size(); ++s) {
    const auto counted = static_cast<double>(study.staleness[s]);
    sum += static_cast<double>(s) * counted, count += counted;
  }
  study.mean_staleness = count > 0 ? sum / count : 0;
  return study;
}

}  // namespace trainyard
