import { Migration } from '@mikro-orm/migrations'

// Lists discontinued packages without reading all packages.
export class Migration20261128000604_discontinued_packages extends Migration {
  override up() {
    this.addSql('create index `packages_discontinued_name` on `packages` (`name`) where `is_discontinued`;')
  }
}
