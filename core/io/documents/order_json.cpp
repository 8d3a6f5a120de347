#include "core/io/documents/order_json.h"

#include <cmath>

#include "core/io/bytes/files.h"
#include "core/io/json/schema.h"
#include "core/io/plans/pipeline_csv.h"

namespace trainyard {
namespace {

Json count(double value) {
  return value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

template <class T>
void set_list(Json& json, const std::string& key, const std::vector<T>& values) {
  if (values.empty()) return;
  Json list = Json::list();
  for (const T value : values) list.push(count(static_cast<double>(value)));
  json.set(key, std::move(list));
}

Json card_json(const OrderDocument::Card& card) {
  Json json = Json::object();
  json.set("gains", card.gains);
  json.set("costs", card.costs);
  json.set("legal_when", card.legal_when);
  json.set("paper", card.paper);
  return json;
}

}  // namespace

Json lines_json(std::string_view text) {
  Json list = Json::list();
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    list.push(text.substr(from, end - from));
    from = end + 1;
  }
  return list;
}

std::string joined_lines(const JsonCursor& list) {
  std::string text;
  for (const JsonCursor& line : list.items()) text += line.text() + "\n";
  return text;
}

std::string order_document(const OrderDocument& document) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/order")));
  json.set("schedule", document.schedule);
  json.set("devices", document.devices);
  json.set("virtual_stages", document.virtual_stages);
  json.set("microbatches", document.microbatches);
  if (!document.placement.empty()) json.set("placement", document.placement);
  if (document.steps > 1) {
    json.set("steps", document.steps);
    json.set("step", document.step);
  }
  json.set("makespan", document.makespan);
  json.set("ideal", document.ideal);
  if (document.lower_bound > 0) json.set("lower_bound", document.lower_bound);
  if (!document.found_by.empty()) json.set("found_by", document.found_by);
  json.set("bubble_fraction", document.bubble_fraction);
  if (document.over_one_wave > 0) json.set("over_one_wave", document.over_one_wave);
  Json spans = Json::list();
  for (const double fraction : document.span_bubble_fraction) spans.push(fraction);
  if (!document.span_bubble_fraction.empty()) json.set("span_bubble_fraction", std::move(spans));
  Json live = Json::list();
  for (const double peak : document.live_microbatches) live.push(count(peak));
  json.set("live_microbatches", std::move(live));
  set_list(json, "delays", document.delays);
  set_list(json, "versions", document.versions);
  if (!document.card.paper.empty()) json.set("card", card_json(document.card));
  json.set("lanes", lines_json(to_text(document.order)));
  return write_json(json);
}

Order order_of(std::string_view content, const std::string& source) {
  if (looks_like_pipeline_csv(content)) return parse_pipeline_csv(content, source).order;
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || content[first] != '{')
    return parse_order(content, {source});
  const Json json = read_document(content, "trainyard/order", source);
  const JsonCursor root(json, source);
  const JsonCursor lanes = root.at("lanes");
  return parse_order(joined_lines(lanes), lanes.place());
}

Order read_order(const std::string& path) { return order_of(read_file(path), path); }

}  // namespace trainyard
