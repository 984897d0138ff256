import { Migration } from '@mikro-orm/migrations'

export class Migration20261127000201_mirror_ages extends Migration {
  override up() {
    this.addSql('alter table `mirror_entries` add column `ages` text null;')
  }
}
