#include "app/desktop/shell/shortcut_sheet.h"

#include <QAction>
#include <QHeaderView>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/key_bindings.h"

namespace trainyard {

ShortcutSheet::ShortcutSheet(const Actions& actions, QWidget* parent)
    : QDialog(parent), list_(new QTreeWidget) {
  setWindowTitle("Keyboard shortcuts");
  resize(640, 640);
  auto* column = new QVBoxLayout(this);
  auto* words = new QLineEdit;
  words->setPlaceholderText("Search keys");
  words->setAccessibleName("Words of a key or a command");
  column->addWidget(words);
  list_->setAccessibleName("Keys");
  list_->setRootIsDecorated(false);
  list_->setHeaderLabels({"key", "does", "where"});
  const auto add = [this](const QString& key, const QString& text, const QString& where) {
    auto* item = new QTreeWidgetItem(list_, {key, text, where});
    item->setFont(0, ui_font(12, QFont::DemiBold));
  };
  for (const Command& command : commands()) {
    const QString keys = keys_text(actions[command.id]->shortcuts());
    if (!keys.isEmpty())
      add(keys, QString::fromUtf8(command.text), QString(command.menu).section('/', 0, 0));
  }
  for (const CanvasKey& key : canvas_keys())
    add(QString::fromUtf8(key.keys), QString::fromUtf8(key.help), "canvas");
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  column->addWidget(list_, 1);
  add_closing_row(this, column);
  connect(words, &QLineEdit::textChanged, this, &ShortcutSheet::filter);
}

void ShortcutSheet::filter(const QString& words) {
  for (int i = 0; i < list_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = list_->topLevelItem(i);
    const QString text = item->text(0) + " " + item->text(1) + " " + item->text(2);
    item->setHidden(!text.contains(words.trimmed(), Qt::CaseInsensitive));
  }
}

QList<std::pair<QString, QString>> ShortcutSheet::rows() const {
  QList<std::pair<QString, QString>> all;
  for (int i = 0; i < list_->topLevelItemCount(); ++i)
    all << std::pair{list_->topLevelItem(i)->text(0), list_->topLevelItem(i)->text(1)};
  return all;
}

}  // namespace trainyard
