// A check is a backend made of two: it runs one and then the other, from the same weights and on
// the same data, answers as the first does, and says where the two first differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace trainyard {

/// How far two backends may be apart and still agree.
struct CheckTolerances {
  double loss = 1e-5;        // as a share of the expected loss
  double parameters = 1e-4;  // as a share of the largest parameter of the layer
};
/// Wide enough for the roundings of the numbers that the plan computes and stores in.
CheckTolerances tolerances_of(const Workload&);

struct CheckReport {
  std::string backend;                  // whose results are the expected ones
  std::vector<double> expected, found;  // losses by step
  CheckTolerances tolerances;
  double worst_loss = 0, worst_parameter = 0;  // distances, in the units of the tolerances
  /// The first thing that is farther apart than allowed, in words; empty where they agree. Losses
  /// come before parameters, earlier steps and layers before later ones.
  std::string difference;
  bool agrees() const { return difference.empty(); }
};

class Check final : public Backend {
 public:
  /// Both were opened for one job and must outlive this. `expected` is the one that is believed.
  Check(Backend& checked, Backend& expected, const CheckTolerances& tolerances)
      : checked_(checked), expected_(expected), tolerances_(tolerances) {}

  std::string_view name() const override { return checked_.name(); }
  BackendRun run(const RunOptions&) override;
  std::vector<TrainedTensor> parameters() const override { return checked_.parameters(); }
  std::vector<TrainedTensor> statistics() const override { return checked_.statistics(); }
  void set_parameters(const std::vector<TrainedTensor>& all) override {
    checked_.set_parameters(all);
  }
  /// What run() found out; nothing where either was stopped before it was done.
  const std::optional<CheckReport>& report() const { return report_; }

 private:
  Backend& checked_;
  Backend& expected_;
  CheckTolerances tolerances_;
  std::optional<CheckReport> report_;
};

}  // namespace trainyard
