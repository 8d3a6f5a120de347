// A ModelPanel is the model side of the Design perspective: the outline for editing, the properties
// of the selected part, and the building blocks.
#pragma once

#include <QWidget>

#include "app/desktop/design/model_builder.h"
#include "app/desktop/session/session.h"

class QLabel;

namespace trainyard {

class BuildingList;
class FieldTable;
class ModelTree;

class ModelPanel : public QWidget {
  Q_OBJECT

 public:
  ModelPanel(ModelBuilder&, Session&, QWidget* parent = nullptr);
  ModelTree* tree() const { return tree_; }
  FieldTable* fields() const { return fields_; }
  BuildingList* blocks() const { return blocks_; }
  /// Asks for a building block and inserts it behind the selection.
  void ask_what_to_add();

 private:
  void refresh_fields();
  void say(const QString& key, const QString& sentence);
  ModelBuilder& builder_;
  ModelTree* tree_;
  FieldTable* fields_;
  BuildingList* blocks_;
  QLabel *chosen_, *complaint_;
};

}  // namespace trainyard
