#include "app/cli/verbs/measured_collectives.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "app/cli/status_line.h"
#include "app/cli/text/clusters/collective_study_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/together.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "backends/cpu/calibration/collective_times.h"
#include "backends/launch.h"

namespace trainyard {
namespace {

constexpr Bytes kMeasuredSizes[] = {{64 << 10}, {1 << 20}, {16 << 20}};
constexpr double kEqual = 1e-6;

}  // namespace

int measure_collectives_here(const Words& words, Streams& streams) {
  if (launch().count == 1)
    refuse_flag("collectives",
                "expected a cluster, as hardware h100-sxm:64 --collectives, or several processes: "
                "\"mpirun -n 4 trainyard hardware --collectives\" measures all-reduces between "
                "four");
  const std::unique_ptr<Processes> processes = join_processes();
  CollectiveStudy study;
  StatusLine status(words, streams);
  const bool first = processes->rank() == 0;
  work_together(*processes, streams, [&] {
    study = measure_collectives(*processes, kMeasuredSizes, [&](double share) {
      if (first) status.show(fmt::format("measuring {:3.0f} %", 100 * share));
    });
  });
  status.clear();
  const int exit = study.sum_error <= kEqual ? kDone : kNotMet;
  if (!first) return exit;
  price_collectives(study);
  deliver(words.has("json") ? collective_study_document(study) : collective_study_text(study),
          words, streams);
  return exit;
}

}  // namespace trainyard
