#include "app/desktop/design/model_panel.h"

#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/building_list.h"
#include "app/desktop/design/model_tree.h"
#include "app/desktop/tables/field_table.h"
#include "core/model/fields.h"

namespace trainyard {
namespace {

FieldRow row_of(const ModelField& field, int index) {
  FieldRow row;
  row.key = q(field.key);
  row.title = q(field.title);
  row.value = q(field.value);
  row.doc = q(field.doc);
  row.fact = field.kind == FieldKind::Fact;
  if (row.fact) row.key = QString("fact %1").arg(index);
  if (field.kind == FieldKind::Flag) row.words = QStringList{"yes", "no"};
  if (field.kind == FieldKind::Number)
    row.note = QString("%1%2%3 to %4")
                   .arg(q(field.unit), field.unit.empty() ? "" : ", ")
                   .arg(field.low)
                   .arg(field.high);
  return row;
}

QString title_of(const Model& model, ModelPart part) {
  if (part.block < 0) return "Model";
  const Block& block = model.blocks[static_cast<std::size_t>(part.block)];
  if (part.node < 0) return "Block " + q(block.name);
  return "Node " + q(block.graph.nodes[static_cast<std::size_t>(part.node)].name);
}

}  // namespace

ModelPanel::ModelPanel(ModelBuilder& builder, Session& session, QWidget* parent)
    : QWidget(parent),
      builder_(builder),
      tree_(new ModelTree(builder, session)),
      fields_(new FieldTable("Properties")),
      blocks_(new BuildingList(builder)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  complaint_ = make_label("", 12, QFont::Normal, "error");
  complaint_->setContentsMargins(12, 4, 12, 4);
  complaint_->setWordWrap(true);
  complaint_->hide();
  auto* side = new QSplitter(Qt::Vertical);
  side->setHandleWidth(1);
  side->setChildrenCollapsible(false);
  auto* properties = new QWidget;
  auto* properties_column = new QVBoxLayout(properties);
  properties_column->setContentsMargins(0, 0, 0, 0);
  properties_column->setSpacing(0);
  auto* head = new Header("");
  chosen_ = make_label("", 11, QFont::DemiBold);
  head->row()->insertWidget(0, chosen_);
  properties_column->addWidget(head);
  properties_column->addWidget(fields_, 1);
  auto* palette = new QWidget;
  auto* palette_column = new QVBoxLayout(palette);
  palette_column->setContentsMargins(0, 0, 0, 0);
  palette_column->setSpacing(0);
  palette_column->addWidget(new Header("Building blocks"));
  palette_column->addWidget(blocks_, 1);
  side->addWidget(properties);
  side->addWidget(palette);
  side->setSizes({230, 110});
  auto* split = new QSplitter(Qt::Horizontal);
  split->setHandleWidth(1);
  split->setChildrenCollapsible(false);
  split->addWidget(tree_);
  split->addWidget(side);
  split->setStretchFactor(0, 1);
  split->setSizes({680, 310});
  column->addWidget(complaint_);
  column->addWidget(split, 1);
  connect(fields_, &FieldTable::entered, &builder_, &ModelBuilder::set_field);
  connect(&builder_, &ModelBuilder::changed, this, &ModelPanel::refresh_fields);
  connect(&builder_, &ModelBuilder::selection_changed, this, &ModelPanel::refresh_fields);
  connect(&builder_, &ModelBuilder::refused, this, &ModelPanel::say);
  refresh_fields();
}

void ModelPanel::refresh_fields() {
  complaint_->hide();
  if (builder_.model().blocks.empty()) {
    chosen_->setText("No model");
    return fields_->show_rows({});
  }
  chosen_->setText(title_of(builder_.model(), builder_.selected()));
  QList<FieldRow> rows;
  for (const ModelField& field : model_fields(builder_.model(), builder_.selected()))
    rows << row_of(field, static_cast<int>(rows.size()));
  fields_->show_rows(rows);
}

void ModelPanel::say(const QString& key, const QString& sentence) {
  if (!key.isEmpty()) return fields_->say(key, sentence);
  complaint_->setText(sentence);
  complaint_->show();
}

void ModelPanel::ask_what_to_add() {
  QMenu menu(this);
  menu.setAccessibleName("Building blocks");
  for (const BuildingBlock& kind : building_blocks()) {
    const auto words = [](std::string_view text) {
      return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    };
    QAction* action = menu.addAction(words(kind.title) + (kind.variant.empty() ? "" : ", ") +
                                     words(kind.variant));
    connect(action, &QAction::triggered, this,
            [this, name = words(kind.name)] { builder_.add(name, builder_.selected()); });
  }
  const QTreeWidgetItem* chosen = tree_->currentItem();
  const QPoint under = chosen == nullptr ? QPoint() : tree_->visualItemRect(chosen).bottomLeft();
  menu.exec(tree_->viewport()->mapToGlobal(under));
}

}  // namespace trainyard
