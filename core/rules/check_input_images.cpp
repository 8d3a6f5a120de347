// CheckInputImages: images that were not centred around 0.
#include <fmt/format.h>

#include <cmath>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// The mean of all images of the looks, once they are enough.
void find_off_centre(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("threshold");
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Image) continue;
    double sum = 0, elements = 0, images = 0;
    for (const Look& look : shown.looks)
      if (const LookedTensor* const same = same_tensor(look, t)) {
        sum += same->facts.sum;
        elements += static_cast<double>(same->facts.elements);
        images += same->facts.units.empty() ? 0 : same->facts.units.front().count;
      }
    const double mean = elements > 0 ? sum / elements : 0;
    if (images >= static_cast<double>(params.integer("samples")) && std::abs(mean) > limit)
      fired.push_back(
          fired_in(shown, t, mean, limit,
                   fmt::format("the mean of {} images of \"{}\" is {:.3g}, farther from "
                               "0 than {:g},",
                               images, t.name, mean, limit)));
  }
}

}  // namespace

const Rule& check_input_images() {
  static const Rule made = {
      .name = "check-input-images",
      .summary = "the mean of the images is not about 0",
      .advice = "data whose mean is taken off",
      .reads = RuleReads::Images,
      .params = {{"threshold", 0.2, "farthest that their mean may be from 0", 0, 1e30},
                 {"samples", std::int64_t{500}, "fewest images that are judged", 1, 1000000}},
      .of_run = find_off_centre};
  return made;
}

}  // namespace trainyard
