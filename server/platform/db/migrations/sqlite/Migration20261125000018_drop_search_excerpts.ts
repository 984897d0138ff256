import { Migration } from '@mikro-orm/migrations'

// No release used these tables: whether anonymous callers find a package by its name is read from the package's versions.
export class Migration20261125000018_drop_search_excerpts extends Migration {
  override up() {
    this.addSql('drop table `package_search_excerpts`;')
    this.addSql('drop table `package_search_excerpts_brief`;')
    this.addSql('drop table `package_search_excerpts_full`;')
  }
}
