import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000045_write_probe extends Migration {
  override up() {
    this.addSql('create table `write_probe` (`id` integer not null primary key, `count` integer not null);')
    // `insert or replace` deletes a conflicting row without running delete triggers.
    this.addSql('create trigger `audit_entries_keep_insert` before insert on `audit_entries` when exists (select 1 from `audit_entries` where `id` = new.`id` or `rowid` = new.`rowid`) begin select raise(abort, \'audit entries are never changed\'); end;')
  }
}
