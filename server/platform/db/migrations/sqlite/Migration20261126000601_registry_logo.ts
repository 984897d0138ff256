import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000601_registry_logo extends Migration {
  override up() {
    this.addSql('create table `registry_logos` (`key` text not null, `png` blob not null, `sha256` text not null, primary key (`key`));')
  }
}
