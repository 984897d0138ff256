import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000055_uploads extends Migration {
  override up() {
    this.addSql('alter table "uploads" add "receiving_as" uuid null;')
    this.addSql('alter table "uploads" add "receiving_until" timestamptz(3) null;')
    this.addSql('alter table "uploads" add "reserved_bytes" bigint null;')
    // Publishing locks this row, so it must exist.
    this.addSql("insert into server_settings (key, value) values ('visibility_mark', 'null') on conflict do nothing;")
  }
}
