import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000040_store extends Migration {
  override up() {
    this.addSql('alter table `deleted_versions` add column `archive_sha256` text null;')
    this.addSql('create table `archive_faults` (`sha256` text not null primary key, `kind` text check (`kind` in (\'missing\', \'damaged\')) not null, `found_at` datetime not null);')
  }
}
