#include "core/io/documents/device_json.h"

#include "core/cost/physical.h"
#include "core/io/documents/cluster_json.h"

namespace trainyard {
namespace {

struct UsedParameter {
  const ParameterInfo& row;
  double value;
};

struct DeviceSheet {
  const Device& device;
  const Parameters& parameters;
};

Fields<UsedParameter> used_parameter_fields() {
  const auto row = [](auto member) {
    return [member](const UsedParameter& used) { return used.row.*member; };
  };
  return {{"name", row(&ParameterInfo::name)},          {"value", &UsedParameter::value},
          {"prior", row(&ParameterInfo::prior)},        {"unit", row(&ParameterInfo::unit)},
          {"meaning", row(&ParameterInfo::meaning)},    {"source", row(&ParameterInfo::source)},
          {"fitted_on", row(&ParameterInfo::fitted_on)}};
}

std::vector<UsedParameter> used_parameters(const DeviceSheet& sheet) {
  std::vector<UsedParameter> list;
  for (const Parameter p : parameters_of(sheet.device))
    list.push_back({info(p), sheet.parameters[p]});
  return list;
}

Fields<DeviceSheet> device_sheet_fields() {
  return document_fields<DeviceSheet>(
      "trainyard/device",
      {{"device", [](const DeviceSheet& sheet) { return to_json(sheet.device); },
        any(type_schema("object")), "as a cluster's, written out"},
       {"parameters", used_parameters, list_of(object(used_parameter_fields())),
        "what predictions for the device read beside its figures"}});
}

}  // namespace

Json device_schema() { return device_sheet_fields().schema(); }

std::string device_document(const Device& device, const Parameters& parameters) {
  return write_json(device_sheet_fields().write({device, parameters}));
}

}  // namespace trainyard
