#include "core/io/documents/measured_prices.h"

#include <fmt/format.h>

#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/documents/profile_json.h"
#include "core/io/json/inline_document.h"
#include "core/io/json/schema.h"

namespace trainyard {

MeasuredPrices read_measured_prices(std::string_view text, const std::string& source) {
  const Json document = parse_json(text, source);
  if (has_schema(document, "trainyard/profile")) return read_profile(text, source);
  if (has_schema(document, "trainyard/links"))
    JsonCursor(document, source)
        .at("schema")
        .refuse(
            "expected prices of work (trainyard/calibration or trainyard/profile), found a fit of "
            "links (trainyard/links), which says what collectives reached and changes no "
            "prediction");
  return read_calibration(text, source);
}

std::string write_measured_prices(const MeasuredPrices& prices) {
  if (const auto* profile = std::get_if<ParameterProfile>(&prices)) return write_profile(*profile);
  return write_calibration(std::get<Calibration>(prices));
}

std::string measured_prices_word(const MeasuredPrices& prices) {
  return inline_document(parse_json(write_measured_prices(prices), "calibration"));
}

MeasuredPrices open_measured_prices(const std::string& word) {
  if (is_inline_document(word)) return read_measured_prices(word, "calibration");
  return read_measured_prices(read_file(word), word);
}

const std::string& provenance(const MeasuredPrices& prices) {
  const auto* profile = std::get_if<ParameterProfile>(&prices);
  return profile != nullptr ? profile->rows : std::get<Calibration>(prices).machine;
}

std::string residual_words(const MeasuredPrices& prices) {
  if (const auto* profile = std::get_if<ParameterProfile>(&prices))
    return fmt::format(
        "residual {:.1f} % (median) and {:.1f} % at worst, {:.1f} % and {:.1f} "
        "% as shipped",
        100 * profile->after.median, 100 * profile->after.worst, 100 * profile->before.median,
        100 * profile->before.worst);
  const auto& measured = std::get<Calibration>(prices);
  if (measured.residual_worst <= 0) return "not checked against a run";
  return fmt::format("steps held back were off by {:.1f} % (median) and {:.1f} % at worst",
                     100 * measured.residual_median, 100 * measured.residual_worst);
}

}  // namespace trainyard
