get() { ruby -rnet/http -e "$ruby" "$1"; }
post() { ruby -rnet/http -e "$ruby" "$1" "$2"; }

ruby='url = URI(ARGV[0])
kind = ARGV[1] ? Net::HTTP::Post : Net::HTTP::Get
asked = kind.new(url, "Metadata" => "true")
asked.body = ARGV[1] if ARGV[1]
answer = Net::HTTP.start(url.host, url.port, nil) { |http| http.request(asked) }
abort answer.body unless answer.code == "200"
print answer.body'
