// A ModelTree shows the model as an outline: blocks and their nodes with shape, parameters, work
// and kept bytes. Blocks can be dragged to another place, and building blocks of the palette are
// dropped between them.
#pragma once

#include <QTreeWidget>

#include "app/desktop/design/model_builder.h"
#include "app/desktop/session/session.h"

namespace trainyard {

class ModelTree : public QTreeWidget {
  Q_OBJECT

 public:
  ModelTree(ModelBuilder&, Session&, QWidget* parent = nullptr);

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dragMoveEvent(QDragMoveEvent*) override;
  void dropEvent(QDropEvent*) override;
  void resizeEvent(QResizeEvent*) override;

 private:
  void refresh();
  void follow_selection();
  void add_rows();
  void fill(QTreeWidgetItem*, ModelPart, const QString& name, const QString& shape);
  QTreeWidgetItem* item_of(ModelPart) const;
  static ModelPart part_of(const QTreeWidgetItem*);
  /// The block behind which a drop at this point is inserted; -1: before the first.
  int block_before(const QPoint&) const;
  ModelBuilder& builder_;
  Session& session_;
  bool filling_ = false;
};

/// The MIME type of dragged palette items; the data is the name of a building block.
inline constexpr const char* kBuildingBlockMime = "application/x-trainyard-building-block";

}  // namespace trainyard
