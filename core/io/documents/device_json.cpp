#include "core/io/documents/device_json.h"

#include <utility>

#include "core/cost/physical.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/json/schema.h"

namespace trainyard {

std::string device_document(const Device& device, const Parameters& parameters) {
  Json list = Json::list();
  for (const Parameter p : parameters_of(device)) {
    const ParameterInfo& row = info(p);
    Json one = Json::object();
    one.set("name", row.name);
    one.set("value", parameters[p]);
    one.set("prior", row.prior);
    one.set("unit", row.unit);
    one.set("meaning", row.meaning);
    one.set("source", row.source);
    one.set("fitted_on", row.fitted_on);
    list.push(std::move(one));
  }
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/device")));
  json.set("device", to_json(device));
  json.set("parameters", std::move(list));
  return write_json(json);
}

}  // namespace trainyard
