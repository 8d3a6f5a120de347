// A BuildingList is the palette of building blocks: they are dragged into the outline, or inserted
// after the selection by Enter or a double click.
#pragma once

#include <QListWidget>

#include "app/desktop/design/model_builder.h"

namespace trainyard {

class BuildingList : public QListWidget {
  Q_OBJECT

 public:
  explicit BuildingList(ModelBuilder&, QWidget* parent = nullptr);

 protected:
  QMimeData* mimeData(const QList<QListWidgetItem*>&) const override;
  void keyPressEvent(QKeyEvent*) override;

 private:
  void put(const QListWidgetItem*);
  ModelBuilder& builder_;
};

}  // namespace trainyard
