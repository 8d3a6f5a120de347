#include "app/desktop/shell/palette_settings.h"

#include "app/desktop/controls/text.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"

namespace trainyard {

PaletteSettings palette_settings(Document& document, const Session& session) {
  PaletteSettings made;
  if (document.plan() == nullptr) return made;
  for (const Setting& setting : settings())
    made.keys << PaletteSettings::Key{q(setting.key), q(setting.doc)};
  for (const Method& method : methods())
    for (const ParamSpec& param : method.params)
      made.keys << PaletteSettings::Key{q(method.name) + "." + q(param.name), q(param.doc)};
  made.refusal = [&session](const QString& key, const QString& value) -> QString {
    try {
      Plan plan = session.experiment() ? session.experiment()->workload.scenario.plan : Plan{};
      apply_setting(plan, key.toStdString(), value.toStdString());
      return {};
    } catch (const Error& error) {
      return q(error.what());
    }
  };
  made.set = [&document](const QString& key, const QString& value) {
    document.set_setting(key, value);
  };
  return made;
}

}  // namespace trainyard
