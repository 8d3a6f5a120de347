#include "app/desktop/session/machine_measurement.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "app/workspace/runs/machine_calibration.h"
#include "app/workspace/runs/trace_profile.h"
#include "backends/cpu/calibration/calibrate.h"
#include "core/base/error.h"
#include "core/cost/kernels/variant_ranking.h"
#include "core/io/json/inline_document.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "visualizers/recorded/recorded_model.h"

namespace trainyard {
namespace {

std::shared_ptr<const MeasuredMachine> shown(MeasuredPrices prices, std::string source,
                                             const std::stop_token& stop) {
  auto found = std::make_shared<MeasuredMachine>();
  found->word = measured_prices_word(prices);
  found->source = std::move(source);
  if (const auto* calibration = std::get_if<Calibration>(&prices)) {
    found->residuals = residuals_model(*calibration, machine_residuals(*calibration, stop));
    // Learned on this thread, so that the window's finds it learned.
    if (!calibration->variants.empty()) rank_variants(calibration->variants)->held_out();
  }
  found->prices = std::move(prices);
  return found;
}

}  // namespace

MachineMeasurement::~MachineMeasurement() {
  stop();
  work_.stop();
}

void MachineMeasurement::stop() { stop_.request_stop(); }

void MachineMeasurement::take(Answer answer) {
  error_ = std::move(answer.error);
  if (answer.found) found_ = std::move(answer.found);
  Q_EMIT changed();
}

void MachineMeasurement::start(const MeasureWish& wish) {
  stop();
  work_.stop();
  stop_ = std::stop_source();
  progress_ = 0;
  error_.clear();
  work_.ask(
      [this, wish, asked = stop_.get_token(), source = stop_](const std::stop_token& gone,
                                                              const auto& tell) mutable {
        const std::stop_callback both(gone, [&] { source.request_stop(); });
        Answer answer;
        try {
          const std::vector<Workload> workloads = wish.plan ? local_workloads(*wish.plan)
                                                  : wish.networks > 0
                                                      ? random_workloads(wish.networks, 1)
                                                      : standard_workloads();
          int told = -1;
          CalibrateOptions options;
          options.box = seconds(wish.seconds);
          options.stop = asked;
          options.progress = [&](double share) {
            const int percent = static_cast<int>(100 * share);
            if (percent == told) return;
            told = percent;
            tell([this, share] {
              progress_ = share;
              Q_EMIT changed();
            });
          };
          answer.found = shown(calibrate(workloads, options), "", gone);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        } catch (const std::exception& wrong) {
          answer.error = std::string("nothing was measured: ") + wrong.what();
        }
        return answer;
      },
      [this](Answer answer) { take(std::move(answer)); });
  Q_EMIT changed();
}

void MachineMeasurement::price_other_shapes(OtherShapes by) {
  if (found_ == nullptr) return;
  auto other = std::make_shared<MeasuredMachine>(*found_);
  auto* calibration = std::get_if<Calibration>(&other->prices);
  if (calibration == nullptr || calibration->other_shapes == by) return;
  calibration->other_shapes = by;
  other->word = measured_prices_word(other->prices);
  found_ = std::move(other);
  Q_EMIT changed();
}

void MachineMeasurement::open(const std::string& word) {
  stop();
  work_.stop();
  error_.clear();
  progress_ = 0;
  work_.ask(
      [word](const std::stop_token& gone, const auto&) {
        Answer answer;
        try {
          answer.found = shown(open_measured_prices(word),
                               is_inline_document(word) ? std::string() : word, gone);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        }
        return answer;
      },
      [this](Answer answer) { take(std::move(answer)); });
  Q_EMIT changed();
}

void MachineMeasurement::read(std::shared_ptr<const RecordedModel> recorded,
                              const Scenario& scenario, const std::string& snapshot) {
  stop();
  work_.stop();
  error_.clear();
  progress_ = 0;
  work_.ask(
      [recorded = std::move(recorded), scenario, snapshot](const std::stop_token& gone,
                                                           const auto&) {
        Answer answer;
        try {
          std::optional<MemorySnapshot> memory;
          if (!snapshot.empty()) memory = import_memory_snapshot(snapshot, {gone, {}});
          const TraceProfile profile =
              trace_profile(whole_trace(*recorded), scenario, gone, memory ? &*memory : nullptr);
          answer.found = shown(profile.prices.calibration, "", gone);
        } catch (const Error& wrong) {
          answer.error = describe(wrong);
        }
        return answer;
      },
      [this](Answer answer) { take(std::move(answer)); });
  Q_EMIT changed();
}

DataTable profile_table(const ParameterProfile& profile) {
  std::vector<std::vector<DataCell>> rows;
  for (const ParameterInfo* row : moved_parameters(profile)) {
    const double shipped = profile.shipped[row->parameter];
    const double fitted = profile.parameters[row->parameter];
    rows.push_back({std::string(row->name), std::string(row->unit), shipped, fitted,
                    fitted / shipped,
                    profile.determined[static_cast<std::size_t>(row->parameter)]});
  }
  return listed_table("Fitted parameters",
                      {{"parameter", DataUnit::Words},
                       {"unit", DataUnit::Words},
                       {"shipped", DataUnit::Number},
                       {"fitted", DataUnit::Number},
                       {"ratio", DataUnit::Share},
                       {"uncertainty left", DataUnit::Share}},
                      std::move(rows));
}

}  // namespace trainyard
