// A study of sharpness as what is said, drawn and listed of it.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/runs/sharpness/sharpness_study.h"
#include "app/workspace/scenario/request.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/table.h"

namespace trainyard {

/// A rate that the sharpness leaves stable.
struct StableRate {
  std::string of;    // "plain descent", "momentum 0.9", "gradients 2 updates old", "stage 3"
  double delay = 0;  // of its oldest gradients, in updates
  double rate = 0;
};
/// Returns plain descent, momentum where the plan has it, and then the stages of an asynchronous
/// plan, or of any other what gradients of some ages would leave. Empty where nothing bounds rates.
std::vector<StableRate> stable_rates(const SharpnessAnswer&);
/// A row for each of these, with the training's rate as a share of it.
DataTable sharpness_table(const SharpnessAnswer&);

/// Says how far the eigenvalue has settled, what it leaves of the training's rate, and up to which
/// batch that rate can grow.
std::vector<std::string> sharpness_sentences(const SharpnessAnswer&);

/// The loss along both lines of the slice.
CurveModel slice_curve(const SharpnessAnswer&);
/// The largest stable rate over the age of gradients, or of an asynchronous plan over its stages,
/// and the rate of the training, which stands alone where nothing bounds rates.
CurveModel stable_rates_curve(const SharpnessAnswer&);
/// Both charts, as for a file.
Drawing sharpness_picture(const SharpnessAnswer&);

/// The command line that asks the same of a scenario of these words, such as "trainyard sharpness
/// --model mlp-small --data random".
std::string sharpness_command(const Request&, const SharpnessQuestion&,
                              const std::vector<std::string>& training);

}  // namespace trainyard
