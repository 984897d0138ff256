import { Migration } from '@mikro-orm/migrations'

// SQLite prefers this index to those that have the rows in order: nearly every row is in it, and all would be sorted.
export class Migration20261121000028_search_plans extends Migration {
  override up() {
    this.addSql('drop index `package_search_documents_shown_to`;')
  }
}
