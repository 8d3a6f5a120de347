#include "app/cli/text/runs/hogwild_text.h"

#include "app/cli/text/lines.h"
#include "core/base/units_text.h"
#include "core/estimate/staleness_bars.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostHogwildBars = 16;

Fields<HogwildRow> hogwild_row_fields() {
  return {{"samples", [](const HogwildRow& r) { return r.dense ? "dense" : "sparse"; },
           "sparse: few features each; dense: all of them"},
          {"sharing", [](const HogwildRow& r) { return to_string(r.how); },
           "alone: one thread; locked: threads take turns; hogwild: threads without locks"},
          {"threads", &HogwildRow::threads, whole(1)},
          {"updates_per_second", &HogwildRow::updates_per_second, number(), "median of the rounds"},
          {"gain", &HogwildRow::gain, number(), "over one thread alone"},
          {"loss", &HogwildRow::loss, number(), "mean over the samples, the worst of the rounds"},
          {"loss_ratio", &HogwildRow::loss_ratio, number(), "to that of one thread alone"}};
}

Fields<HogwildStudy> hogwild_fields() {
  const auto of = [](auto member) { return in(&HogwildStudy::question, member); };
  return document_fields<HogwildStudy>(
      "trainyard/hogwild",
      {{"cores", &HogwildStudy::cores, whole(1), "of this machine"},
       {"threads", of(&HogwildQuestion::threads), whole(1)},
       {"samples", of(&HogwildQuestion::samples), whole(2)},
       {"features", of(&HogwildQuestion::features), whole(1)},
       {"nonzeros", of(&HogwildQuestion::nonzeros), whole(1), "features of a sparse sample"},
       {"dense_features", of(&HogwildQuestion::dense), whole(1)},
       {"epochs", of(&HogwildQuestion::epochs), whole(1)},
       {"most_frequent", in(&HogwildStudy::sparse, &SharedSupport::most_frequent), number(),
        "share of sparse samples that have the commonest feature"},
       {"meet", in(&HogwildStudy::sparse, &SharedSupport::meet), number(),
        "share of pairs of sparse samples that have a feature in common"},
       {"rows", &HogwildStudy::rows, list_of(object(hogwild_row_fields()))},
       {"expected_staleness", [](const HogwildStudy& s) { return s.question.threads - 1; }, whole(),
        "updates of other threads that end while one is made, where no thread pauses"},
       {"mean_staleness", &HogwildStudy::mean_staleness, number(),
        "counted in a run of its own on sparse samples"},
       {"staleness", &HogwildStudy::staleness, list_of(whole()),
        "number of updates by that, from 0"}});
}

}  // namespace

std::string hogwild_text(const HogwildStudy& s) {
  const HogwildQuestion& q = s.question;
  Out out;
  line(
      out,
      "logistic regression by gradient descent, a sample at a time, {} epochs, median of {} rounds "
      "on {} cores\n",
      q.epochs, q.rounds, s.cores);
  line(out, "  {:<22} {:>7} {:>8} {:>12} {:>7} {:>9} {:>7}", "samples", "sharing", "threads",
       "updates/s", "gain", "loss", "ratio");
  for (const HogwildRow& row : s.rows)
    line(out, "  {:<22} {:>7} {:>8} {:>12.3g} {:>6.2f}x {:>9.5f} {:>7.4f}",
         row.dense ? fmt::format("all of {}", q.dense)
                   : fmt::format("{} of {}", q.nonzeros, q.features),
         to_string(row.how), row.threads, row.updates_per_second, row.gain, row.loss,
         row.loss_ratio);
  line(out, "");
  for (const std::string& sentence : hogwild_sentences(s)) line(out, "{}", sentence);
  line(out, "\nupdates of other threads that ended while one was made, sparse samples, {} threads",
       q.threads);
  out += staleness_text(staleness_bars(s.staleness, kMostHogwildBars), q.threads - 1);
  return out;
}

Json hogwild_schema() { return hogwild_fields().schema(); }

std::string hogwild_document(const HogwildStudy& s) {
  return write_json(hogwild_fields().write(s));
}

}  // namespace trainyard
