import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000077_reserved_skeletons extends Migration {
  override up() {
    this.addSql("alter table `reserved_names` add column `skeleton` text not null default '';")
    this.addSql("update `reserved_names` set `skeleton` = replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(`name`, '_', ''), '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '');")
    this.addSql('create index `reserved_names_skeleton_index` on `reserved_names` (`skeleton`);')
  }
}
