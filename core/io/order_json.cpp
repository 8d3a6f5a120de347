#include "core/io/order_json.h"

#include <cmath>

#include "core/io/files.h"
#include "core/io/schema.h"

namespace trainyard {
namespace {

Json count(double value) {
  return value == std::floor(value) ? Json(static_cast<std::int64_t>(value)) : Json(value);
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
  json.set("makespan", document.makespan);
  json.set("ideal", document.ideal);
  json.set("bubble_fraction", document.bubble_fraction);
  Json live = Json::list();
  for (const double peak : document.live_microbatches) live.push(count(peak));
  json.set("live_microbatches", std::move(live));
  json.set("lanes", lines_json(to_text(document.order)));
  return write_json(json);
}

Order order_of(std::string_view content, const std::string& source) {
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
