#include "app/desktop/controls/training_fields.h"

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/word_list.h"
#include "core/training/data_source.h"
#include "core/training/training.h"

namespace trainyard {

Field* make_data_field(const QString& accessible_name) {
  auto* field = new Field(accessible_name);
  field->addItem("Automatic", "");
  for (const DataEntry& entry : data_sources())
    if (entry.absent().empty()) {
      field->addItem(q(entry.name), q(entry.name));
      field->setItemData(field->count() - 1, q(entry.summary), Qt::ToolTipRole);
    }
  return field;
}

std::string data_in(const Field& field) { return field.currentData().toString().toStdString(); }

WordList* make_training_list() {
  QStringList names;
  for (const TrainingKey& each : training_keys()) names << q(each.key) + "=";
  return new WordList(
      {.title = "Settings of training",
       .hint = "rate=0.01",
       .check =
           [](const std::string& word) {
             Training training;
             apply_training(training, word);
           },
       .chip =
           [](const QString& word) { return QString(word).replace(",", ", ").replace('=', ' '); },
       .offered = names});
}

}  // namespace trainyard
