// A scenario is priced by the physical model or by measured prices; this file opens either as a
// cost model.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/cost/calibrated.h"
#include "core/cost/cost_model.h"
#include "core/io/documents/measured_prices.h"
#include "core/plan/plan.h"

namespace trainyard {

/// The cost model of the workbench without a calibration: physical_cost_model().
std::unique_ptr<CostModel> cost_model(const Scenario&);

/// Reads a file, or a document on one line, and makes the cost model that it describes: a
/// trainyard/calibration prices this machine (see calibrate_cluster()), a trainyard/profile sets
/// the parameters of the physical model, and where its rows are of other devices than the
/// cluster's, the model says so (and leaves out a factor). Throws Error{InvalidInput} or Error{Io}.
std::unique_ptr<CostModel> open_cost_model(const std::string& word, Scenario&);
/// Returns which way kernels of this machine go by the variants that a calibration measured; null
/// for no word, for prices of something else and for a calibration without variants. Throws as
/// open_cost_model() does.
std::shared_ptr<const VariantChooser> open_variants(const std::string& word);
/// Returns the calibration with kernels of other shapes priced so, as a document on one line.
/// Throws as open_cost_model() does, and Error{InvalidInput} for a profile, which has no kernels.
std::string with_other_shapes(const std::string& word, OtherShapes);
/// The measured prices for a word of --cost ("roofline", "calibrated", "learned") beside this
/// calibration; empty = the workbench's own. Throws as with_other_shapes() does, and
/// Error{InvalidInput} where kernels are asked for and there is no calibration.
std::string priced_word(std::string_view cost, const std::string& calibration);
/// Makes the cost model of measured prices, as open_cost_model() does.
std::unique_ptr<CostModel> priced_by(MeasuredPrices, Scenario&);
/// Returns what prices each plan of a study: the measured prices of the word, which are read here
/// and not for each plan, or the workbench's own for no word. Throws as open_cost_model() does.
std::function<std::unique_ptr<CostModel>(const Scenario&)> prices_of_plans(const std::string& word);
/// A calibration prices this machine's own devices: raises the cluster's peaks to the measured
/// ones, so that no utilisation exceeds one; one of a recorded run leaves the cluster as it is.
/// Throws Error{InvalidInput} for a cluster of other devices.
void calibrate_cluster(Cluster&, const Calibration&);

}  // namespace trainyard
