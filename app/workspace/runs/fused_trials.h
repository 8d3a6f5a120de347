// Trains trials of a tuning together (backends/cpu/fused.h) where they differ in training alone.
// Trials that also differ in settings of the plan are other programs: they are partitioned by them,
// as HFHT of the same paper does. A search asks for one trial after the other, so that the trials
// to train with one are those that it will ask for next if none of them is better; their results
// wait here. A trial has the result of its own run, and the search is the one without fusion.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/result/experiment.h"
#include "core/result/tune_report.h"
#include "core/training/training.h"

namespace trainyard {

struct FusedCandidate {
  std::string partition;  // alike for trials of one program
  std::string name;       // of the trial, unique
  Training training;
};

struct FusedResult {
  std::vector<double> losses;  // up to the first that is no number
  double seconds = 0;          // its share of the run
  int jobs = 0;                // of the run
};

class FusedTrials {
 public:
  /// most: jobs in a run; 0 = as many as fit and pay (FusedPricer::enough()), and at most
  /// kMostJobs. data: as TrainingRequest::data.
  FusedTrials(int most, std::string data, std::stop_token);
  ~FusedTrials();
  static constexpr int kMostJobs = 64;

  /// Trains the first of the candidates together with those of the others that are of its program.
  /// Does nothing where it has been trained, or must be trained alone. `scenario` is the first
  /// one's.
  void train(const Scenario& scenario, const std::vector<FusedCandidate>&);
  /// Returns the result of a trial, once; nothing where it must be trained alone.
  std::optional<FusedResult> take(const std::string& name);
  /// Returns the names of the trained ones that nobody took.
  std::vector<std::string> left() const;
  /// Returns why a trial is trained alone; empty where it is not.
  std::string why_alone(const std::string& name) const;
  TuneFusion report() const;

 private:
  struct Partition;
  Partition& partition(const Scenario&, const FusedCandidate&);
  void train_together(Partition&, const std::vector<const FusedCandidate*>&);

  int most_;
  std::string data_;
  std::stop_token stop_;
  std::map<std::string, std::unique_ptr<Partition>> partitions_;
  std::map<std::string, FusedResult> results_;  // not yet asked for
  std::map<std::string, std::string> alone_;    // by trial: the reason
  TuneFusion fusion_;
};

}  // namespace trainyard
